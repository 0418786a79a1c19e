// Marks functions that both the host's compiler and device compilers compile from one header. Such
// headers include only headers of this kind.
#ifndef ASHLAR_OPR_BASE_ANYWHERE_H_
#define ASHLAR_OPR_BASE_ANYWHERE_H_

#if defined(__CUDACC__)
#define ASHLAR_ANYWHERE __host__ __device__ inline
#define ASHLAR_ANYWHERE_CONSTEXPR __host__ __device__ constexpr
#else
#define ASHLAR_ANYWHERE inline
#define ASHLAR_ANYWHERE_CONSTEXPR constexpr
#endif

#endif  // ASHLAR_OPR_BASE_ANYWHERE_H_
