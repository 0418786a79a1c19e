// State between runs: an output of a model is an input of the next run, as in recurrent models and
// caches of keys and values. The tensor lives in the session, in the pool of states.
#ifndef ASHLAR_LIBRARY_STATE_LINKS_H_
#define ASHLAR_LIBRARY_STATE_LINKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "library/model.h"

namespace ashlar {

struct StateLink {
  std::string output, input;  // bindings
};

// Parses "OUTPUT=INPUT".
absl::StatusOr<StateLink> ParseStateLink(absl::string_view text);

// Returns the model with a state for each link in the place of the input, under its name, at first
// zeros. A run ends by giving it the output's value: in place if nothing reads the old value
// later, otherwise by a copy. The outputs of links are outputs no more, unless no other is left.
// States may take each other's old values: if some exchange them, one is held in a further state,
// INPUT:held.
// InvalidArgument names both tensors if their types differ, an unknown name, an input with two
// links, and an output whose size depends on data; UsePlainWeights's errors.
absl::StatusOr<Model> WithStates(Model model, absl::Span<const StateLink> links);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_STATE_LINKS_H_
