// The cases of ONNX's own node tests: each passes or is refused, none gives a wrong result. The
// page states their numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/import/node_case.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

struct Listed {
  std::string tier, folder;
};

// Returns the cases of cases.tsv by tier; unlisted ones belong to the first lot.
std::vector<Listed> ListedCases() {
  std::vector<Listed> cases;
  std::set<std::string> listed;
  std::ifstream table(SharedData("data/onnx/cases.tsv"));
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    const std::filesystem::path folder = std::filesystem::path("data/onnx/node") / fields[1];
    listed.insert(folder.lexically_normal());
    cases.push_back({"tier " + fields[0], SharedData(folder.lexically_normal())});
  }
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/onnx/node"))) {
    const std::string folder = "data/onnx/node/" + entry.path().filename().string();
    if (listed.count(folder) == 0) cases.push_back({"first lot", entry.path()});
  }
  return cases;
}

struct Counts {
  int passed = 0, refused = 0, wrong = 0;
};

// The page's names of the tiers.
const std::pair<const char*, const char*> kRows[] = {
    {"first lot", "first lot"}, {"tier 1", "usual models"}, {"tier 2", "shapes and indices"},
    {"tier 3", "rarer models"}, {"tier 4", "quantised"},    {"tier 5", "control flow"},
};

TEST(OnnxNodeCases, PassOrAreRefused) {
  if (!HasSharedData("data/onnx/cases.tsv")) GTEST_SKIP() << "no ../shared/data/onnx";
  // ASHLAR_ONNX_NODE_REPORT: a file that gets a line for each case.
  const char* const report_path = std::getenv("ASHLAR_ONNX_NODE_REPORT");
  std::ofstream report(report_path != nullptr ? report_path : "/dev/null");
  std::map<std::string, Counts> at_run_time, folded;
  for (const Listed& listed : ListedCases()) {
    const absl::StatusOr<NodeCase> test = ReadNodeCase(listed.folder);
    for (const KnownInputs known : {KnownInputs::kShapeArguments, KnownInputs::kAll}) {
      const bool fold = known == KnownInputs::kAll;
      Counts& counts = (fold ? folded : at_run_time)[listed.tier];
      NodeResult result;
      if (test.ok()) {
        result = RunNodeCase(*test, known);
      } else {
        const bool refused = absl::IsUnimplemented(test.status());
        result = {refused ? Outcome::kRefused : Outcome::kWrong,
                  std::string(test.status().message())};
      }
      constexpr const char* kNames[] = {"passed", "refused", "WRONG"};
      report << listed.tier << "\t" << std::filesystem::path(listed.folder).filename().string()
             << "\t" << (fold ? "folded" : "run") << "\t"
             << kNames[static_cast<int>(result.outcome)] << "\t"
             << absl::StrJoin(absl::StrSplit(result.message, '\n'), "|") << "\n";
      counts.passed += result.outcome == Outcome::kPassed;
      counts.refused += result.outcome == Outcome::kRefused;
      counts.wrong += result.outcome == Outcome::kWrong;
      EXPECT_NE(result.outcome, Outcome::kWrong)
          << listed.folder << (fold ? " folded: " : ": ") << result.message;
      // Among the usual models, only types without a dtype are refused.
      if (fold && result.outcome == Outcome::kRefused &&
          (listed.tier == "tier 1" || listed.tier == "tier 2")) {
        EXPECT_NE(result.message.find("elements of "), std::string::npos)
            << listed.folder << ": " << result.message;
      }
    }
  }
  const std::string page = ReadWholeFile(SourceFolder() + "/docs/onnx.md");
  for (const auto& [tier, name] : kRows) {
    std::string row = absl::StrCat("| ", name);
    for (const Counts& counts : {at_run_time[tier], folded[tier]}) {
      absl::StrAppend(&row, " | ", counts.passed, " | ", counts.refused, " | ", counts.wrong);
    }
    EXPECT_NE(page.find(row + " |\n"), std::string::npos) << "docs/onnx.md lacks " << row << " |";
  }
  EXPECT_EQ(at_run_time.size(), std::size(kRows));
}

}  // namespace
}  // namespace ashlar::testing
