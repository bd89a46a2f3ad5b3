"""How kernels are compiled, called and looped."""
