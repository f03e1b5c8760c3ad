// The lines that the printer prints, each of one kind; print.cu lists the kinds.
#pragma once

#include <cstdio>

#include <cute/tensor.hpp>

namespace lines {

using namespace cute;

template <class Printed>
void show(char const* name, Printed const& layout) {
  printf("layout %s ", name);
  print(layout);
  printf("\n");
}

// A layout of threads and values, with the tile that it covers.
template <class Printed>
void show(char const* name, Printed const& layout, int rows, int columns) {
  show(name, layout);
  printf("tile %s %d %d\n", name, rows, columns);
}

// One line a coordinate of each thread's partition; `partition` takes a thread.
template <class Partition>
void map(char const* name, int threads, Partition const& partition) {
  for (int thread = 0; thread < threads; ++thread) {
    auto coordinates = partition(thread);
    for (int value = 0; value < int(size(coordinates)); ++value) {
      auto at = coordinates(value);
      printf("map %s %d %d %d %d\n", name, thread, value, int(get<0>(at)), int(get<1>(at)));
    }
  }
}

template <class Tile>
void offsets(char const* name, Tile const& tile) {
  show(name, tile);
  for (int row = 0; row < int(size<0>(tile)); ++row) {
    for (int column = 0; column < int(size<1>(tile)); ++column) {
      printf("offset %s %d %d %d\n", name, row, column, int(tile(row, column)));
    }
  }
}

template <class View>
void registers(char const* name, View const& view) {
  show(name, view);
  for (int value = 0; value < int(size(view)); ++value) {
    printf("register %s %d %d\n", name, value, int(view(value)));
  }
}

}  // namespace lines
