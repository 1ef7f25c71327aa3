"""What models cost over many cost matrices, and how often each is the cheapest."""
