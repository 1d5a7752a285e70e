"""Two speeds, one truth: the plain decoders and the column kernels held against each other."""
