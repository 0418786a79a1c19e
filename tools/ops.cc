// ashlar ops: operators, and the devices that have kernels for them.
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/device.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/table.h"

namespace ashlar {
namespace {

class OpsCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddParsed(app, "--device", device_, CompNode::Parse, "D", "the device to look at: cpu0:0");
    app.add_flag("--markdown", markdown_, "a table for Markdown");
  }

  absl::Status Run(Console& console) override {
    ASHLAR_ASSIGN_OR_RETURN(Device * device, OpenDevice(device_));
    const std::string name = device_.ToString();
    Table table({"operator", name, "what it does"});
    Json document = console.Document(device_, DefaultThreads());
    document["operators"] = Json::array();
    for (const OperatorRow& row : OperatorRows()) {
      const bool has_kernel = device->kernels().Find(row.type) != nullptr;
      table.AddRow({row.type, has_kernel ? "kernel" : "-", row.summary});
      document["operators"].push_back(
          {{"type", row.type}, {"kernel", has_kernel}, {"summary", row.summary}});
    }
    console.Print(markdown_ ? table.ToMarkdown() : table.ToText());
    if (!markdown_) console.Print("-: nothing to run, as for inputs and constants, or no kernel\n");
    return console.Write(document);
  }

 private:
  CompNode device_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace ashlar
