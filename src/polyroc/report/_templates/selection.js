// One selection for the whole page: a model, and a class or a pair of classes.

