// Planners made of others (a portfolio of algorithms: Gomes and Selman 2001, "Algorithm
// portfolios"): runs each and keeps the best, then uses the remaining work for exact search
// (exact.h).
#ifndef ASHLAR_MEMORY_PORTFOLIO_H_
#define ASHLAR_MEMORY_PORTFOLIO_H_

#include <cstdint>

#include "memory/problem/instance.h"
#include "memory/problem/solution.h"

namespace ashlar::memory {

// All of these stop if the arena is the lower bound or fits the capacity. Of equal plans the
// earlier stays. If nothing fits the capacity, they spend the same work again on the smallest
// arena.

// Runs the fast planners, keeps the best plan, then improves it by exact search within the limits.
Solution PlaceByPortfolio(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits);

// Returns the better of two first fits, by size and by size times time.
Solution PlaceByFirstFits(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits);

// Returns the best of the dives.
Solution PlaceByDives(const Instance& instance, int64_t lower_bound, const SearchLimits& limits);

// Runs the dives, keeps the best plan, then improves it by exact search within the limits.
Solution PlaceByExactSearch(const Instance& instance, int64_t lower_bound,
                            const SearchLimits& limits);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PORTFOLIO_H_
