// Validates JSON documents against their schemas.
#ifndef ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_
#define ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_

#include <string>
#include <vector>

namespace ashlar::testing {

// Runs scripts/validate_json.py and returns its exit code: 0 if the documents match the schema, 1
// if not, kNoValidator if the Python package is missing. `schema`: a path in the source folder.
// `closed`: keys that the schema does not name are errors.
inline constexpr int kNoValidator = 77;
int ValidateJson(const std::string& schema, const std::vector<std::string>& documents,
                 bool closed = false);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_JSON_SCHEMA_H_
