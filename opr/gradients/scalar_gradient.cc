#include "opr/gradients/scalar_gradient.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Reads an expression from left to right and adds its functions from the inside out.
class Expression {
 public:
  Expression(absl::string_view text, Composition& composition, const ElemwiseParam& param,
             absl::FunctionRef<int(char)> var)
      : rest_(text), composition_(composition), param_(param), var_(var) {}

  absl::StatusOr<int> Add() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    const size_t end = std::min(rest_.find_first_of("(), "), rest_.size());
    const absl::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return absl::ConsumePrefix(&rest_, "(") ? Function(word) : Leaf(word);
  }

 private:
  absl::StatusOr<int> Function(absl::string_view name) {
    const auto row = std::find(kScalarFunctionNames.begin(), kScalarFunctionNames.end(), name);
    if (row == kScalarFunctionNames.end()) {
      return absl::InternalError(absl::StrCat("a gradient has the unknown function ", name));
    }
    const auto mode = static_cast<ScalarFunction>(row - kScalarFunctionNames.begin());
    std::vector<int> arguments;
    do {
      ASHLAR_ASSIGN_OR_RETURN(const int argument, Add());
      arguments.push_back(argument);
    } while (absl::ConsumePrefix(&rest_, ","));
    absl::ConsumePrefix(&rest_, ")");
    ElemwiseParam param = {mode};
    if (RowOf(mode).num_parameters > 0) param.parameters = param_.parameters;
    return composition_.Add<Elemwise>(param, std::move(arguments));
  }

  absl::StatusOr<int> Leaf(absl::string_view word) {
    const DType dtype = composition_.type(var_('g')).dtype;
    double number = 0;
    if (absl::SimpleAtod(word, &number)) return composition_.Constant(dtype, number);
    if (word == "p") return composition_.Constant(dtype, param_.parameters[0]);
    if (word == "q") return composition_.Constant(dtype, param_.parameters[1]);
    if (word.size() == 1 && absl::StrContains("abcyg", word)) return var_(word[0]);
    return absl::InternalError(absl::StrCat("a gradient reads the unknown '", word, "'"));
  }

  absl::string_view rest_;
  Composition& composition_;
  const ElemwiseParam& param_;
  absl::FunctionRef<int(char)> var_;
};

}  // namespace

absl::StatusOr<std::optional<int>> ScalarGradient(Composition& composition,
                                                  const ElemwiseParam& param, int operand,
                                                  absl::FunctionRef<int(char)> var) {
  const ScalarRow& row = RowOf(param.mode);
  const char* const text = row.gradients[operand];
  if (text == nullptr) return absl::UnimplementedError(absl::StrCat(row.name, " has no gradient"));
  if (absl::string_view(text) == "0") return std::nullopt;
  ASHLAR_ASSIGN_OR_RETURN(const int gradient, Expression(text, composition, param, var).Add());
  ASHLAR_RETURN_IF_ERROR(composition.status());
  return gradient;
}

}  // namespace ashlar
