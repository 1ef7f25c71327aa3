// The cost explorer: a grid of costs that are dragged, typed and moved by keys.
