#include "opr/reshape.h"

#include "absl/strings/str_join.h"
#include "opr/base/aliasing.h"
#include "opr/base/host_value.h"
#include "opr/base/shape_operand.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Reshape)

absl::StatusOr<Shape> Reshape::TargetShape(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int64_t> dims, IntegerVector(inputs[1], "the target shape"));
  const Shape& x = inputs[0].type.shape;
  const std::string text = absl::StrCat("target shape {", absl::StrJoin(dims, ","), "}");
  int deduced = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != -1) continue;
    if (deduced >= 0)
      return absl::InvalidArgumentError(absl::StrCat(text, " has more than one -1"));
    deduced = static_cast<int>(i);
    dims[i] = 1;
  }
  if (param().axis != kNoAxis) {
    ASHLAR_ASSIGN_OR_RETURN(int axis, NormalizeAxis(param().axis, static_cast<int>(dims.size())));
    if (axis != deduced) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, ": dimension ", axis, " is to be deduced, expected -1 there"));
    }
  }
  absl::StatusOr<Shape> target = Shape::Make(dims);
  if (!target.ok()) return Annotate(target.status(), text);
  const int64_t elements = x.num_elements();
  const int64_t known = target->num_elements();
  if (deduced >= 0) {
    if (known == 0 || elements % known != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, ": -1 cannot be deduced from shape ", x.ToString()));
    }
    (*target)[deduced] = elements / known;
    if (param().follows && deduced == 0 && (x.rank() == 0 || (*target)[0] != x[0])) {
      return absl::InvalidArgumentError(absl::StrCat(text, ": dimension 0 becomes ", (*target)[0],
                                                     ", expected that of ", x.ToString()));
    }
  } else if (known != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " has ", known, " elements, shape ", x.ToString(), " has ", elements));
  }
  return target;
}

absl::StatusOr<std::vector<TensorType>> Reshape::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(Shape target, TargetShape(inputs));
  return std::vector<TensorType>{inputs[0].type.Reshaped(target)};
}

absl::StatusOr<std::vector<HostTensor>> Reshape::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(Shape target, TargetShape(InfosOf(inputs)));
  return std::vector<HostTensor>{inputs[0].Reshaped(target)};
}

Aliasing Reshape::aliasing(const Site& site) const {
  const bool row_major =
      site.inputs[0].type.format == Format::kDefault && site.outputs[0].format == Format::kDefault;
  return row_major ? ViewOfInput() : Aliasing();
}

// If the first dimension is unchanged, it can be cut.
std::optional<std::vector<Region>> Reshape::InputRegions(const Region& output,
                                                         const Site& site) const {
  const Shape &x = site.inputs[0].type.shape, &y = site.outputs[0].shape;
  if (x.rank() == 0 || y.rank() == 0 || x[0] != y[0]) return std::nullopt;
  Region whole = WholeRegion(y);
  whole[0] = output[0];
  if (output != whole) return std::nullopt;
  Region region = WholeRegion(x);
  region[0] = output[0];
  return std::vector<Region>{region, WholeRegion(site.inputs[1].type.shape)};
}

std::optional<Replacement> Reshape::AtRegion(const Region& output,
                                             absl::Span<const Region> /*given*/,
                                             const Site& /*site*/) const {
  return WithShapeOf<Reshape>(output);
}

}  // namespace ashlar
