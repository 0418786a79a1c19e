#include "library/packing_command.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "library/execution.h"
#include "library/shell_text.h"
#include "runtime/device/device.h"
#include "runtime/plan/request/request_options.h"

namespace ashlar {
namespace {

// Returns how a plan suits the packed weights: by other options, or by a processor whose
// instructions this one has. "": it cannot.
std::string OtherPlan(const PackedModel& packed, const PlanTarget& target) {
  const absl::StatusOr<Device*> device = OpenDevice(target.comp_node);
  if (!device.ok()) return "";
  const Processor processor = target.ProcessorOn(**device);
  if (packed.processor == Name(processor.isa)) return "ask for what it is packed under";
  const absl::StatusOr<Processor> suits = Processor::Parse(
      absl::StrCat(packed.processor, "/", processor.l1_bytes, "/", processor.l2_bytes));
  if (!suits.ok() || !processor.Runs(*suits)) return "";
  return absl::StrCat("plan with --processor ", suits->ToString());
}

}  // namespace

std::string PackingCommand(const std::string& path, const PlanRequest& request) {
  std::vector<std::string> words = {"ashlar", "convert",  path.empty() ? "MODEL" : path,
                                    "-o",     "FILE.ash", "--pack"};
  const OptionTexts texts = OptionsToRepeat(request);
  for (const RequestOption& option : RequestOptions()) {
    const auto text = texts.find(option.name);
    if (text == texts.end()) continue;
    words.push_back(absl::StrCat("--", option.name));
    if (!option.metavar.empty()) words.push_back(text->second);
  }
  const PlanTarget& target = request.target;
  if (target.processor) {
    words.insert(words.end(), {"--processor", target.processor->ToString()});
  }
  if (target.threads != DefaultThreads()) {
    words.insert(words.end(), {"--threads", absl::StrCat(target.threads)});
  }
  return ShellText(words);
}

std::string AdviceToPack(const PackedModel& packed, const std::string& path,
                         const PlanRequest& request) {
  const std::string other = OtherPlan(packed, request.target);
  return absl::StrCat("; ", other, other.empty() ? "" : ", or ", "pack it again, as `",
                      PackingCommand(path, request), "` does");
}

}  // namespace ashlar
