// Builds a graph from a case, for tests of code that reads or rewrites graphs.
#ifndef ASHLAR_TESTS_CASES_CASE_GRAPH_H_
#define ASHLAR_TESTS_CASES_CASE_GRAPH_H_

#include "graph/graph.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

// The operator of a case in a graph of its own. Input 0 is the graph's input "x", as stored
// integers if it is quantised; the other inputs are constants. The operator's outputs are the
// graph's.
struct CaseGraph {
  Graph graph;
  int input = 0, op = 0;  // ids of the operators
};
CaseGraph GraphOf(const KernelCase& test);

// Calls `run` once with every case of every operator that has such a graph, not once a format.
void ForEachCaseGraph(uint64_t seed,
                      const std::function<void(const KernelCase&, const CaseGraph&)>& run);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CASE_GRAPH_H_
