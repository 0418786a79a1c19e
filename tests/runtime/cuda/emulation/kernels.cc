// The kernels of our own and their launches, compiled for the host. <cuda_runtime.h> is the one of
// this folder.
#include "runtime/cuda/toolkit/kernels.cu"
