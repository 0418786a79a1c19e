#include "tests/support/json_schema.h"

#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/shared_data.h"

namespace ashlar::testing {

int ValidateJson(const std::string& schema, const std::vector<std::string>& documents,
                 bool closed) {
  const std::string folder = SourceFolder();
  std::string command = "python3 '" + folder + "/scripts/validate_json.py'" +
                        (closed ? " --closed" : "") + " '" + folder + "/" + schema + "'";
  for (const std::string& document : documents) command += " '" + document + "'";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ashlar::testing
