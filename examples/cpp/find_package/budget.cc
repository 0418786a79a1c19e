// Plans a model within a budget; if it does not fit, within the smallest budget that the error
// names.
//
//   cmake -B build && cmake --build build && build/budget model.ash 100000
#include <ashlar/ashlar.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

ashlar::Plan PlanWithin(const ashlar::Model& model, int64_t bytes) {
  auto options = ashlar::Sized<ashlar_plan_options>();
  options.memory_budget = bytes;
  try {
    return model.NewPlan(options);
  } catch (const ashlar::Error& error) {
    if (error.status != ASHLAR_DOES_NOT_FIT || error.bytes <= bytes) throw;
    std::printf("%s\n", error.what());
    return PlanWithin(model, error.bytes);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: budget MODEL BYTES\n"), 2;
  const ashlar::Model model(argv[1]);
  const ashlar::Plan plan = PlanWithin(model, std::atoll(argv[2]));
  std::printf("arena %lld bytes in %zu steps\n", static_cast<long long>(plan.Memory().arena),
              plan.Steps().size());
  ashlar::Session session = plan.NewSession();
  std::vector<std::vector<char>> tensors;
  for (const ashlar_tensor& input : plan.Inputs()) {
    tensors.emplace_back(input.bytes);
    session.Input(tensors.back().data(), tensors.back().size(), input.name);
  }
  for (const ashlar_tensor& output : plan.Outputs()) {
    tensors.emplace_back(output.bytes);
    session.Output(tensors.back().data(), tensors.back().size(), output.name);
  }
  session.Run();
  return 0;
} catch (const ashlar::Error& error) {
  return std::fprintf(stderr, "error: %s\n", error.what()), 1;
}
