"""The feed handler of a channel, of any system: arbitration and recovery (`recovery`), rows (`feeds.port`)
and books joined.

handler      packets in, books that are right or say that they are not; `views` is what people look at
  lines        which stream and feed each source is; `kernels.sorting` by kernel
  core         rows onto books by what is known of their instruments; the lake's slices drive it too
  incremental  units whose turn has come, to rows, to the core: `kernels.live`
  definitions, snapshots   the looping streams
  instruments, groups      what was defined, and the phases of groups
  interest     which instruments are followed, where they were chosen by symbol
  keeper       what the machine orders, done to the books
  observer     who is told of rows, definitions and news
"""
