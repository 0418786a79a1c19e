// ashlar zoo: well-known networks with seeded weights.
#include "tools/zoo/zoo.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/native/writer.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/option_kinds.h"
#include "tools/options.h"

namespace ashlar {
namespace {

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const ZooModel& model : ZooModels()) names.push_back(model.name);
  return names;
}

class ZooCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddText(app, "NAME", name_, " ", absl::StrJoin(Names(), ", "))
        ->required()
        ->check(CLI::IsMember(Names()));
    AddText(app, "-o,--output", output_, "FILE.ash", "the model file to write")->required();
    AddNumber(app, "--batch", options_.batch, 1, 1 << 20, "images at a time (default 1)");
    AddNumber(app, "--image", options_.image, 1, 1 << 20,
              "height and width in pixels (default 224)");
    AddNumber(app, "--seed", options_.seed, 0, kUnlimited, "of the weights (default 0)");
    app.add_flag("--headless", options_.headless,
                 "stop after the last convolution stage, at the feature map");
  }

  absl::Status CheckOptions() const override { return CheckEnding("-o", output_, {".ash"}); }
  std::vector<std::string> OutputFiles() const override { return {output_}; }

  absl::Status Run(Console& console) override {
    console.ResultIsIn(output_);
    console.Progress(absl::StrCat("building ", name_));
    for (const ZooModel& model : ZooModels()) {
      if (name_ != model.name) continue;
      absl::StatusOr<Graph> graph = model.build(options_);
      if (!graph.ok()) return WithExitCode(graph.status(), ExitCode::kUsage);
      console.Progress(absl::StrCat("writing ", output_));
      ASHLAR_RETURN_IF_ERROR(WriteModel(*graph, output_));
      const GraphSummary summary = Summarize(*graph);
      Json document = console.Document(CompNode(), DefaultThreads());
      document["name"] = name_;
      document["file"] = output_;
      AddSummary(*graph, summary, document);
      console.Print(absl::StrFormat("%s: %s, %s, %s, weights %s\n", output_, model.summary,
                                    Counted(summary.num_operators, "operator"),
                                    FormatFlops(summary.computation),
                                    FormatBytes(summary.weights_bytes)));
      return console.Write(document);
    }
    return UsageError(absl::StrCat("no model ", name_));
  }

 private:
  std::string name_, output_;
  ZooOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeZooCommand() { return std::make_unique<ZooCommand>(); }

}  // namespace ashlar
