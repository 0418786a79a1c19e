// JSON documents against their schemas.
#ifndef ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_
#define ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_

#include <string>
#include <vector>

namespace ashlar::testing {

// The exit code of scripts/validate_json.py: 0 where the documents are what the schema says, 1
// where they are not, kNoValidator where the Python package is missing. `schema`: in the source
// folder. `closed`: keys that the schema does not name are errors.
inline constexpr int kNoValidator = 77;
int ValidateJson(const std::string& schema, const std::vector<std::string>& documents,
                 bool closed = false);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_
