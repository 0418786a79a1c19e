#include "tests/opr/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "opr/base/host_value.h"
#include "tests/support/operators.h"

namespace ashlar::testing {
namespace {

// Returns element i of the slice of `tensor` at `region`.
double At(const HostTensor& tensor, const Region& region, int64_t i) {
  std::vector<int64_t> index = IndexOf(i, ShapeOf(region));
  for (size_t axis = 0; axis < index.size(); ++axis) index[axis] += region[axis].begin;
  return tensor.At(OffsetOf(index, tensor.shape()));
}

}  // namespace

Part RandomPart(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                const HostTensor& whole) {
  const OwnedSite site{InfosOf(inputs), {InfoOf(whole).type}};
  Region wanted = WholeRegion(whole.shape());
  for (int axis : {2, 3}) {
    wanted[axis].begin = Pick(random, 0, whole.shape()[axis] - 1);
    wanted[axis].end = Pick(random, wanted[axis].begin + 1, whole.shape()[axis]);
  }
  return {site, wanted, (*op.InputRegions(wanted, site))[0]};
}

void ExpectPartOfTheWhole(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                          const HostTensor& whole, const Part& part, int64_t more) {
  Region given = part.needed;
  for (int axis : {2, 3}) {
    given[axis].begin = std::max<int64_t>(given[axis].begin - Pick(random, 0, more), 0);
    given[axis].end = std::min(given[axis].end + Pick(random, 0, more), inputs[0].shape()[axis]);
  }
  HostTensor crop = HostTensor::ZerosLike(inputs[0], ShapeOf(given));
  for (int64_t i = 0; i < crop.num_elements(); ++i) crop.Set(i, At(inputs[0], given, i));

  std::vector<Region> regions = {given};
  std::vector<HostTensor> operands = {crop};
  for (size_t i = 1; i < inputs.size(); ++i) {
    regions.push_back(WholeRegion(inputs[i].shape()));
    operands.push_back(inputs[i]);
  }
  const std::optional<Replacement> made = op.AtRegion(part.wanted, regions, part.site);
  ASSERT_TRUE(made.has_value());
  const HostTensor got = Evaluate(*made->op, operands);
  ASSERT_EQ(got.shape(), ShapeOf(part.wanted));
  for (int64_t i = 0; i < got.num_elements(); ++i) ASSERT_EQ(got.At(i), At(whole, part.wanted, i));
}

}  // namespace ashlar::testing
