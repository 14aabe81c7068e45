"""The processor: kernels compiled by Numba, walked by a team of threads."""
