// Gradients of pooling.
#include "opr/pooling.h"

#include <utility>

#include "opr/gradients/gradients.h"
#include "opr/pooling_backward.h"
#include "opr/rewrites/composition.h"

namespace ashlar {

absl::Status PoolingForward::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Add<PoolingBackward>(param(), {g.input(0), g.of()}));
}

}  // namespace ashlar
