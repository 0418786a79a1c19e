// The arguments of the programs in this folder.
#ifndef ASHLAR_BENCHMARKS_ARGUMENTS_H_
#define ASHLAR_BENCHMARKS_ARGUMENTS_H_

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <optional>

namespace ashlar::benchmarks {

// Fills the options' variables. The exit code of a program that has no more to do: 0 after --help,
// 2 where the arguments are wrong, which is then on stderr.
inline std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace ashlar::benchmarks

#endif  // ASHLAR_BENCHMARKS_ARGUMENTS_H_
