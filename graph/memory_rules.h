// Storage of an operator's tensors: formats and shared bytes. Part of the Operator interface.
#ifndef ASHLAR_GRAPH_MEMORY_RULES_H_
#define ASHLAR_GRAPH_MEMORY_RULES_H_

#include "graph/aliasing.h"
#include "graph/site.h"
#include "graph/storage_rules.h"

namespace ashlar {

// The defaults are right for every operator: row-major tensors that share no bytes.
class MemoryRules {
 public:
  virtual StorageRules storage_rules(const Site& /*site*/) const { return {}; }
  virtual Aliasing aliasing(const Site& /*site*/) const { return {}; }

 protected:
  ~MemoryRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_MEMORY_RULES_H_
