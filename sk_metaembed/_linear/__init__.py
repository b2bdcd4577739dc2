"""Linear models fitted with products of matrices, and the matrices that they read."""
