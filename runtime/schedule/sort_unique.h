// Lists of indices that represent sets.
#ifndef ASHLAR_RUNTIME_SCHEDULE_SORT_UNIQUE_H_
#define ASHLAR_RUNTIME_SCHEDULE_SORT_UNIQUE_H_

#include <algorithm>
#include <vector>

namespace ashlar {

// Sorts a list and removes duplicates.
inline void SortUnique(std::vector<int>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_SORT_UNIQUE_H_
