// Functions that the host's compiler and devices' take from one header, which includes nothing else
// of ours.
#ifndef ASHLAR_OPR_ANYWHERE_H_
#define ASHLAR_OPR_ANYWHERE_H_

#if defined(__CUDACC__)
#define ASHLAR_ANYWHERE __host__ __device__ inline
#define ASHLAR_ANYWHERE_CONSTEXPR __host__ __device__ constexpr
#else
#define ASHLAR_ANYWHERE inline
#define ASHLAR_ANYWHERE_CONSTEXPR constexpr
#endif

#endif  // ASHLAR_OPR_ANYWHERE_H_
