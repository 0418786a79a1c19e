#include "graph/comp_node.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Accepts digits only; SimpleAtoi alone would accept signs and blanks.
bool ParseNumber(absl::string_view text, int& number) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &number);
}

}  // namespace

absl::StatusOr<CompNode> CompNode::Parse(absl::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(absl::StrCat(
      "device '", text.substr(0, 64), "': expected cpu0:0, gpu0:0, mcu0:0, cpu, gpu or cuda:N"));
  CompNode node;
  absl::string_view rest = text;
  const bool cuda = absl::ConsumePrefix(&rest, "cuda");
  if (cuda || absl::ConsumePrefix(&rest, "gpu")) {
    node.type = Type::kGpu;
  } else if (absl::ConsumePrefix(&rest, "mcu")) {
    node.type = Type::kMcu;
  } else if (!absl::ConsumePrefix(&rest, "cpu")) {
    return error;
  }
  if (rest.empty() || rest == "x:0") return node;
  std::vector<absl::string_view> parts;
  if (cuda && rest[0] == ':') {  // "cuda:1" names a device, not a stream
    parts = {rest.substr(1)};
  } else {
    parts = absl::StrSplit(rest, ':');
  }
  if (parts.size() > 2 || !ParseNumber(parts[0], node.device)) return error;
  if (parts.size() == 2 && !ParseNumber(parts[1], node.stream)) return error;
  return node;
}

std::string CompNode::ToString() const {
  constexpr const char* kNames[] = {"cpu", "gpu", "mcu"};
  return absl::StrCat(kNames[static_cast<int>(type)], device, ":", stream);
}

}  // namespace ashlar
