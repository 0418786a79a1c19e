// The largest counts and sizes in a file, for every model format.
#ifndef ASHLAR_SERIALIZATION_LIMITS_H_
#define ASHLAR_SERIALIZATION_LIMITS_H_

namespace ashlar {

// Ids of nodes and vars must be below this, so that passes can add new ones.
inline constexpr int kMaxId = 1 << 30;

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_LIMITS_H_
