// Counts of operations that may exceed 64 bits in a graph from a hostile file.
#ifndef ASHLAR_OPR_BASE_SATURATING_PRODUCT_H_
#define ASHLAR_OPR_BASE_SATURATING_PRODUCT_H_

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace ashlar {

// Returns the product of non-negative numbers, or the largest int64_t if the product is larger.
inline int64_t SaturatingProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return product;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_SATURATING_PRODUCT_H_
