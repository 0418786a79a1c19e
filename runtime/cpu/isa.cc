#include "runtime/cpu/isa.h"

#include <oneapi/dnnl/dnnl.h>

namespace ashlar {

absl::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "";
}

Isa HostIsa() {
  static const Isa isa = [] {
    // A bit of a larger set is not in a smaller one, so the limit is compared bit by bit.
    const unsigned limit = dnnl_get_effective_cpu_isa();
    const auto allowed = [&](unsigned wanted) { return (limit & wanted) == wanted; };
    if (allowed(dnnl_cpu_isa_avx512_core) && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")) {
      return Isa::kAvx512;
    }
    if (allowed(dnnl_cpu_isa_avx2) && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma")) {
      return Isa::kAvx2;
    }
    return Isa::kBaseline;
  }();
  return isa;
}

}  // namespace ashlar
