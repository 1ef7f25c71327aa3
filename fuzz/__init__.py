"""Random and hostile input for everything public, and what polyroc must never answer to it."""
