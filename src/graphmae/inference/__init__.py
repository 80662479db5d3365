"""What a trained model tells of a graph: embeddings, reconstructions, filled cells."""
