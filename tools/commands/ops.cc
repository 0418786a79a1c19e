// ashlar ops: lists operators and the devices that have kernels for them, and the ONNX operators
// that can be read.
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/device/device.h"
#include "serialization/onnx/import/supported.h"
#include "tools/command.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

class OpsCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    AddParsed(app, "--device", device_, CompNode::Parse, "cpu0:0|gpu0:0",
              "the device to look at (default: both)");
    app.add_flag("--onnx", onnx_, "the operators of ONNX that can be read");
    app.add_flag("--markdown", markdown_, "a table for Markdown");
  }

  std::vector<IdleOptions> Idle(const ConsoleFlags& console) const override {
    std::vector<IdleOptions> idle;
    if (onnx_) idle.push_back({{"--device"}, "--onnx lists what can be read, on any device"});
    if (!console.prints()) idle.push_back({{"--markdown"}, "--json takes stdout"});
    return idle;
  }

  absl::Status Run(Console& console) override {
    if (onnx_) return ListOnnx(console);
    std::vector<Column> columns;
    if (app_->count("--device") > 0) {
      ASHLAR_ASSIGN_OR_RETURN(Device * device, OpenDevice(device_));
      columns.push_back({device_.ToString(), device, ""});
    } else {
      for (const CompNode::Type type : {CompNode::Type::kCpu, CompNode::Type::kGpu}) {
        const CompNode node = {type, 0, 0};
        const absl::StatusOr<Device*> device = OpenDevice(node);
        columns.push_back({node.ToString(), device.ok() ? *device : nullptr,
                           std::string(device.status().message())});
      }
    }
    std::vector<std::string> titles = {"operator"};
    for (const Column& column : columns) titles.push_back(column.name);
    titles.push_back("what it does");
    Table table(std::move(titles));
    Json document = console.Document(device_, DefaultThreads());
    document["operators"] = Json::array();
    for (const OperatorRow& row : OperatorRows()) {
      std::vector<std::string> cells = {row.type};
      Json kernels = Json::object();
      for (const Column& column : columns) {
        const bool has = column.device != nullptr && HasKernel(*column.device, row.type);
        kernels[column.name] = column.device == nullptr ? Json() : Json(has);
        cells.push_back(column.device == nullptr ? "?" : has ? "kernel" : "-");
      }
      cells.push_back(row.summary);
      table.AddRow(std::move(cells));
      document["operators"].push_back({{"type", row.type},
                                       {"kernel", HasKernel(*columns[0].device, row.type)},
                                       {"kernels", std::move(kernels)},
                                       {"summary", row.summary}});
    }
    console.Print(markdown_ ? table.ToMarkdown() : table.ToText());
    if (!markdown_) {
      console.Print("-: nothing to run, as for inputs and constants, or no kernel\n");
      for (const Column& column : columns) {
        if (column.device == nullptr) console.Print(absl::StrCat("?: ", column.missing, "\n"));
      }
    }
    return console.Write(document);
  }

 private:
  struct Column {
    std::string name;
    const Device* device;  // null: cannot be opened
    std::string missing;   // the reason why
  };
  absl::Status ListOnnx(Console& console) const {
    Table table({"ONNX operator", "domain", "operator sets", "at run time", "limits"});
    Json document = console.Document(device_, DefaultThreads());
    document["onnx"] = Json::array();
    for (const SupportedOnnx& op : SupportedOnnxOperators()) {
      table.AddRow({op.type, op.domain, op.operator_sets, op.at_run_time ? "yes" : "of constants",
                    op.limits});
      document["onnx"].push_back({{"type", op.type},
                                  {"domain", op.domain},
                                  {"operator_sets", op.operator_sets},
                                  {"run_time", op.at_run_time},
                                  {"limits", op.limits}});
    }
    console.Print(markdown_ ? table.ToMarkdown() : table.ToText());
    return console.Write(document);
  }
  static bool HasKernel(const Device& device, const char* type) {
    return device.kernels().Find(type) != nullptr;
  }

  const CLI::App* app_ = nullptr;
  CompNode device_;
  bool onnx_ = false;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace ashlar
