// What the explorer shows, from costs to curves: here or in a worker.
