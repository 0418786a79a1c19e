// Command-line arguments of the programs in this folder.
#ifndef ASHLAR_BENCHMARKS_ARGUMENTS_H_
#define ASHLAR_BENCHMARKS_ARGUMENTS_H_

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace ashlar::benchmarks {

// Parses the arguments into the options' variables. Returns an exit code if the program is to end:
// 0 after --help, 2 if the arguments are wrong, which is printed on stderr.
inline std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

// Options of programs that measure the layers of networks.
struct LayerOptions {
  int64_t batch = 1;
  int threads = 1;
  double seconds = 0.1;
  std::string layer;

  bool Takes(const std::string& name) const { return name.find(layer) != std::string::npos; }
};

// `measured` names what takes the seconds, for the help text.
inline void AddLayerOptions(CLI::App& app, LayerOptions& options, const std::string& measured) {
  app.add_option("--batch", options.batch)->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_option("--threads", options.threads)->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "for each " + measured)->capture_default_str();
  app.add_option("--layer", options.layer, "layers with this text in their name")
      ->option_text("TEXT");
}

}  // namespace ashlar::benchmarks

#endif  // ASHLAR_BENCHMARKS_ARGUMENTS_H_
