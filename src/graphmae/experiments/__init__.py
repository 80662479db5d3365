"""Recipes × seeds, one pre-training, a search over settings: everything that leaves a folder behind."""
