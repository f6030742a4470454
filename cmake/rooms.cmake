# A room is one folder below src/: a library target that says in one sentence what it is for and
# which other rooms it may use. tools/check_house compares the #include lines with USES and writes
# the table in ARCHITECTURE.md from the sentences.
#
#   muster_room(store
#     SENTENCE "Remembers: journal, snapshots, archive."
#     USES wire core
#     LIBRARIES SQLite::SQLite3)
#
# Sources are every *.cc in the folder and below, except *_test.cc, which make the target
# <room>_test, and folders that are rooms themselves. base and model are open to every room.
function(muster_room name)
  cmake_parse_arguments(ROOM "" "SENTENCE" "USES;LIBRARIES;EXCLUDE;TEST_USES" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(pattern IN LISTS ROOM_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(muster_${target} STATIC ${sources})
  target_include_directories(muster_${target} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                     ${PROJECT_SOURCE_DIR}/include)
  set(open_rooms)
  if(NOT name STREQUAL "base")
    list(APPEND open_rooms base)
  endif()
  if(NOT name STREQUAL "base" AND NOT name STREQUAL "model")
    list(APPEND open_rooms model)
  endif()
  foreach(used IN LISTS open_rooms ROOM_USES)
    string(REPLACE "/" "_" used_target ${used})
    target_link_libraries(muster_${target} PUBLIC muster_${used_target})
  endforeach()
  target_link_libraries(muster_${target} PUBLIC ${ROOM_LIBRARIES})
  target_compile_options(muster_${target} PRIVATE ${MUSTER_WARNINGS})
  if(tests AND MUSTER_TESTS)
    muster_test(${target}_test SOURCES ${tests} USES ${name} ${ROOM_TEST_USES})
  endif()
endfunction()

# A test program: links GoogleTest, the rooms it names and tests/support; runs under ctest as one
# test for each TEST().
function(muster_test target)
  cmake_parse_arguments(T "NO_DISCOVER" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_executable(${target} ${T_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  foreach(used IN LISTS T_USES)
    string(REPLACE "/" "_" used_target ${used})
    target_link_libraries(${target} PRIVATE muster_${used_target})
  endforeach()
  target_link_libraries(${target} PRIVATE muster_test_support ${T_LIBRARIES} GTest::gmock)
  target_compile_options(${target} PRIVATE ${MUSTER_WARNINGS})
  add_test(NAME ${target} COMMAND ${target} --gtest_shuffle)
  set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
