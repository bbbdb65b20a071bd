# Tests of the project rather than of the code's results, and the builds under other compilers and sanitizers.
set(SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/scripts)
find_program(PYTHON3 python3)

# Rules that hold for the sources alone. Each script proves with --self-test that it can fail.
foreach(rule layering functions headers)
  add_test(NAME ${rule} COMMAND ${PYTHON3} ${SCRIPTS}/${rule}.py ${CMAKE_SOURCE_DIR})
  add_test(NAME ${rule}_self_test COMMAND ${PYTHON3} ${SCRIPTS}/${rule}.py --self-test)
  set_tests_properties(${rule} ${rule}_self_test PROPERTIES LABELS structure)
endforeach()
add_test(NAME format COMMAND ${SCRIPTS}/format.sh)
add_test(NAME scripts COMMAND ${SCRIPTS}/scripts.sh)
add_test(NAME manual COMMAND ${SCRIPTS}/manual.sh $<TARGET_FILE:parley_cli>)
set_tests_properties(format scripts manual PROPERTIES LABELS style SKIP_RETURN_CODE 77)

# Rules that are read off the built library; the sanitizers add symbols of their own.
if(NOT PARLEY_SANITIZE)
  add_test(NAME exports COMMAND ${SCRIPTS}/exports.sh $<TARGET_FILE:parley_shared> $<TARGET_FILE:parley_static>)
  add_test(NAME forbidden COMMAND ${SCRIPTS}/forbidden.sh $<TARGET_FILE:parley_static>)
  add_test(NAME forbidden_self_test COMMAND ${SCRIPTS}/forbidden.sh --self-test ${CMAKE_C_COMPILER})
  set_tests_properties(exports forbidden forbidden_self_test PROPERTIES LABELS structure)
  add_test(NAME exports_complete COMMAND ${SCRIPTS}/exports.sh --complete $<TARGET_FILE:parley_shared> ${CMAKE_SOURCE_DIR}/include/parley)
  add_test(NAME install COMMAND ${SCRIPTS}/install_test.sh ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(exports_complete PROPERTIES LABELS structure)
  set_tests_properties(install PROPERTIES LABELS install TIMEOUT 600)
endif()

# subbuild(NAME LABELS COMPILER OPTION..): the project again in build/NAME, see scripts/subbuild.sh. They start when the unit tests are through.
function(subbuild name labels)
  add_test(NAME ${name} COMMAND ${SCRIPTS}/subbuild.sh ${CMAKE_BINARY_DIR}/${name} ${labels} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS slow TIMEOUT 1500 RUN_SERIAL TRUE)
endfunction()

if(PARLEY_SUBBUILDS)
  get_property(quick DIRECTORY PROPERTY TESTS)
  subbuild(clang "^unit$" clang -DCMAKE_BUILD_TYPE=Release)
  subbuild(sanitize_address "^(unit|sanitize)$" clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPARLEY_SANITIZE=address,undefined)
  subbuild(sanitize_thread "^threads$" clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPARLEY_SANITIZE=thread)
  set_tests_properties(clang sanitize_address sanitize_thread PROPERTIES DEPENDS "${quick}")
  add_test(NAME fuzz COMMAND ${CMAKE_SOURCE_DIR}/fuzz/run.sh 10)
  set_tests_properties(fuzz PROPERTIES LABELS slow TIMEOUT 900 DEPENDS "${quick};clang;sanitize_address;sanitize_thread")
  add_test(NAME neon COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cross/run_neon.sh)
  set_tests_properties(neon PROPERTIES LABELS slow TIMEOUT 900 DEPENDS "${quick};clang;sanitize_address;sanitize_thread") # beside fuzz: both keep one core busy
endif()
