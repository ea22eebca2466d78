;; The hot loops of the text index. Memory, in bytes:
;;   0         class of each byte value (256)
;;   0x1000    which generation last saw a trigram (2^18 x u8; 255: never to be collected)
;;   0x50000   the last file a trigram was in (2^18 x u16)
;;   0x100000  size, later write position, of a trigram's list (2^18 x u32)
;;   0x200000  trigrams found, file by file (u32), then room for lists, then the file being read
(module
  (memory (export "memory") 40)

  ;; Appends the trigrams of [ptr, ptr+len) that this generation has not seen yet to `out`; answers the new end of `out`.
  ;; `state` is the last two classes of what came before (0 at the start of a file).
  (func (export "collect") (param $ptr i32) (param $len i32) (param $key i32) (param $generation i32) (param $out i32) (result i32)
    (local $end i32) (local $seen i32) (local $new i32)
    (local.set $end (i32.add (local.get $ptr) (local.get $len)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $ptr) (local.get $end)))
        (local.set $key
          (i32.and
            (i32.or (i32.shl (local.get $key) (i32.const 6)) (i32.load8_u (i32.load8_u (local.get $ptr))))
            (i32.const 0x3ffff)))
        (local.set $ptr (i32.add (local.get $ptr) (i32.const 1)))
        (local.set $seen (i32.load8_u offset=0x1000 (local.get $key)))
        (local.set $new (i32.lt_u (local.get $seen) (local.get $generation)))
        (i32.store8 offset=0x1000 (local.get $key)
          (select (local.get $generation) (local.get $seen) (local.get $new)))
        (i32.store (local.get $out) (local.get $key))
        (local.set $out (i32.add (local.get $out) (i32.shl (local.get $new) (i32.const 2))))
        (br $next)))
    (local.get $out))

  ;; The classes of the last two bytes, to go on with the next piece of the same file.
  (func (export "tail") (param $end i32) (result i32)
    (i32.or
      (i32.shl (i32.load8_u (i32.load8_u (i32.sub (local.get $end) (i32.const 2)))) (i32.const 6))
      (i32.load8_u (i32.load8_u (i32.sub (local.get $end) (i32.const 1))))))

  ;; Adds up how many bytes the lists of one file's trigrams [from, to) will take. Files count from 1.
  (func (export "measure") (param $from i32) (param $to i32) (param $file i32)
    (local $key i32) (local $at i32) (local $gap i32) (local $slot i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $key (i32.load (local.get $from)))
        (local.set $at (i32.shl (local.get $key) (i32.const 1)))
        (local.set $slot (i32.shl (local.get $key) (i32.const 2)))
        (local.set $gap (i32.sub (local.get $file) (i32.load16_u offset=0x50000 (local.get $at))))
        (i32.store16 offset=0x50000 (local.get $at) (local.get $file))
        (i32.store offset=0x100000 (local.get $slot)
          (i32.add
            (i32.load offset=0x100000 (local.get $slot))
            (i32.add
              (i32.const 1)
              (i32.add
                (i32.gt_u (local.get $gap) (i32.const 127))
                (i32.gt_u (local.get $gap) (i32.const 16383))))))
        (local.set $from (i32.add (local.get $from) (i32.const 4)))
        (br $next))))

  ;; Writes the gaps of one file's trigrams, each at its list's position, seven bits a byte.
  (func (export "write") (param $from i32) (param $to i32) (param $file i32)
    (local $at i32) (local $gap i32) (local $slot i32) (local $position i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $at (i32.shl (i32.load (local.get $from)) (i32.const 1)))
        (local.set $slot (i32.shl (local.get $at) (i32.const 1)))
        (local.set $gap (i32.sub (local.get $file) (i32.load16_u offset=0x50000 (local.get $at))))
        (i32.store16 offset=0x50000 (local.get $at) (local.get $file))
        (local.set $position (i32.load offset=0x100000 (local.get $slot)))
        (block $written
          (loop $more
            (if (i32.lt_u (local.get $gap) (i32.const 128))
              (then
                (i32.store8 (local.get $position) (local.get $gap))
                (local.set $position (i32.add (local.get $position) (i32.const 1)))
                (br $written)))
            (i32.store8 (local.get $position) (i32.or (i32.and (local.get $gap) (i32.const 127)) (i32.const 128)))
            (local.set $position (i32.add (local.get $position) (i32.const 1)))
            (local.set $gap (i32.shr_u (local.get $gap) (i32.const 7)))
            (br $more)))
        (i32.store offset=0x100000 (local.get $slot) (local.get $position))
        (local.set $from (i32.add (local.get $from) (i32.const 4)))
        (br $next))))

  ;; A 64-bit fingerprint, eight bytes at a step; what is past the end must be zero up to a multiple of eight.
  (func (export "hash") (param $ptr i32) (param $len i32) (param $hash i64) (result i64)
    (local $end i32)
    (local.set $end (i32.add (local.get $ptr) (local.get $len)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $ptr) (local.get $end)))
        (local.set $hash
          (i64.rotl
            (i64.mul
              (i64.xor (local.get $hash) (i64.load align=1 (local.get $ptr)))
              (i64.const 0x9e3779b97f4a7c15))
            (i64.const 29)))
        (local.set $ptr (i32.add (local.get $ptr) (i32.const 8)))
        (br $next)))
    (local.get $hash)))
