// The largest counts and sizes in a file, in every format of models.
#ifndef ASHLAR_SERIALIZATION_LIMITS_H_
#define ASHLAR_SERIALIZATION_LIMITS_H_

namespace ashlar {

// Ids of nodes and vars are below this, so that passes have room for new ones.
inline constexpr int kMaxId = 1 << 30;

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_LIMITS_H_
