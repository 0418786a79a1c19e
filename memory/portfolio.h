// Planners made of others (a portfolio of algorithms: Gomes and Selman 2001, "Algorithm
// portfolios"): each is asked, the best is kept, and exact search (exact.h) has the time that is
// left.
#ifndef ASHLAR_MEMORY_PORTFOLIO_H_
#define ASHLAR_MEMORY_PORTFOLIO_H_

#include <cstdint>

#include "memory/instance.h"
#include "memory/planner.h"

namespace ashlar::memory {

// All of these stop where the arena is the lower bound or fits the capacity. Of
// equal plans the earlier stays. Where nothing fits the capacity, as much time again goes to the
// smallest arena.

// The best of the fast planners, then exact search within the time limit.
Solution PlaceByPortfolio(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits);

// The better of two first fits, by size and by size times time.
Solution PlaceByFirstFits(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits);

// The best of the dives.
Solution PlaceByDives(const Instance& instance, int64_t lower_bound, const SearchLimits& limits);

// The best of the dives, then exact search within the time limit.
Solution PlaceByExactSearch(const Instance& instance, int64_t lower_bound,
                            const SearchLimits& limits);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PORTFOLIO_H_
