// Packing for the scalar set: a file of its own because it has its own compiler options.
#include "pack.cpp"
