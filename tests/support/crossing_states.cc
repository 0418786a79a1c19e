#include "tests/support/crossing_states.h"

#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/reshape.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using F = ScalarFunction;

// Makes graphs of images.
class Maker : public GraphMaker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  // Returns a 3 x 3 convolution, with 24 channels between two of them.
  int Filtered(int image) { return Convolved(Apply(F::kRelu, {Convolved(image, 4, 24)}), 24, 4); }
  int Apply(F function, std::vector<int> inputs, const std::string& name = "") {
    return Add<Elemwise>({function}, std::move(inputs), name);
  }
  int Reshaped(int var, const std::vector<int32_t>& dims, const std::string& name) {
    const int shape = Constant(
        HostTensor::FromValues<int32_t>(DType::kInt32, {static_cast<int64_t>(dims.size())}, dims));
    return Add<Reshape>({}, {var, shape}, name);
  }

 private:
  int Convolved(int image, int64_t from, int64_t to) {
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    HostTensor filter = RandomTensor(random_, {to, from, 3, 3});
    for (float& x : filter.mutable_data<float>()) x /= 8;
    return Add<ConvolutionForward>(param, {image, Constant(std::move(filter))});
  }
  std::mt19937_64 random_;
};

// A graph: its states, and what it computes of them.
struct Case {
  const char* name;
  int states;
  // Adds the output "y" and the outputs of links.
  std::function<void(Maker&, int x, const std::vector<int>& s)> build;
  std::vector<std::pair<std::string, std::string>> links;
};

std::vector<Case> Cases() {
  using Vars = const std::vector<int>&;
  const auto as_they_are = [](Maker& make, int x, Vars s) {
    const int difference = make.Apply(F::kSub, {s[0], x});
    make.Output(make.Apply(F::kAdd, {make.Filtered(difference), s[1]}, "y"));
    for (const int state : s) make.Output(state);
    make.Output(make.Apply(F::kAdd, {x, s[0]}, "sum"));
  };
  return {
      {"shifted", 3, as_they_are, {{"s0", "s1"}, {"s1", "s2"}, {"sum", "s0"}}},
      {"exchanged", 2, as_they_are, {{"s1", "s0"}, {"s0", "s1"}}},
      {"rotated", 3, as_they_are, {{"s1", "s0"}, {"s2", "s1"}, {"s0", "s2"}}},
      {"exchanged twice", 4, as_they_are, {{"s1", "s0"}, {"s0", "s1"}, {"s3", "s2"}, {"s2", "s3"}}},
      {"reshaped",
       2,
       [](Maker& make, int x, Vars s) {
         make.Output(make.Apply(F::kSub, {make.Filtered(s[0]), make.Apply(F::kTanh, {x})}, "y"));
         const int flat = make.Reshaped(s[0], {4, 480}, "flat");
         make.Output(make.Reshaped(flat, {1, 4, 24, 20}, "s0_again"));
         make.Output(make.Reshaped(s[1], {1, 4, 24, 20}, "s1_again"));
       },
       {{"s0_again", "s1"}, {"s1_again", "s0"}}},
      {"crossed",
       2,
       [](Maker& make, int x, Vars s) {
         const int of_s1 = make.Apply(F::kAdd, {make.Filtered(s[1]), x}, "of_s1");
         const int of_s0 = make.Apply(F::kTanh, {make.Filtered(s[0])}, "of_s0");
         make.Output(make.Apply(F::kMul, {of_s0, of_s1}, "y"));
         make.Output(of_s0);
         make.Output(of_s1);
       },
       {{"of_s1", "s0"}, {"of_s0", "s1"}}},
      {"one computed",
       2,
       [](Maker& make, int x, Vars s) {
         const int sum = make.Apply(F::kAdd, {make.Filtered(s[1]), x});
         const int next = make.Apply(F::kTanh, {sum}, "next");
         make.Output(make.Apply(F::kMax, {make.Filtered(next), s[0]}, "y"));
         make.Output(next);
         make.Output(s[0]);
       },
       {{"next", "s0"}, {"s0", "s1"}}},
      {"elementwise",
       2,
       [](Maker& make, int x, Vars s) {
         make.Output(make.Apply(F::kAdd, {s[0], make.Filtered(s[1])}, "y"));
         make.Output(make.Apply(F::kSigmoid, {make.Apply(F::kMul, {s[0], s[1]})}, "product"));
         make.Output(make.Apply(F::kMin, {s[0], x}, "least"));
       },
       {{"product", "s0"}, {"least", "s1"}}},
  };
}

}  // namespace

std::vector<CrossingStates> MakeCrossingStates() {
  std::vector<CrossingStates> made;
  for (const Case& test : Cases()) {
    Maker make(made.size() + 1);
    const int x = make.Input("x", kCrossingImage);
    std::vector<int> states;
    for (int i = 0; i < test.states; ++i) {
      states.push_back(make.Input(absl::StrCat("s", i), kCrossingImage));
    }
    test.build(make, x, states);
    made.push_back({test.name, std::move(make).Build(), test.links});
  }
  return made;
}

}  // namespace ashlar::testing
