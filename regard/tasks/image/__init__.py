"""Image classification with a Vision Transformer (Dosovitskiy et al., 2021)."""
