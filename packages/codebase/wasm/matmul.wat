;; The arithmetic of the language model that is worth writing by hand. First the matrix product, in whole numbers: out[t][n] = sum over k of a[t][k] * b[n][k], with a and b as i16
;; and out as i32. rows is a multiple of 2, columns of 4, depth of 8. `pitch` is the distance of two rows of out, in numbers.
(module
  (memory (export "memory") 1)
  (func (export "multiply") (param $a i32) (param $b i32) (param $out i32) (param $rows i32) (param $columns i32) (param $depth i32) (param $pitch i32)
    (local $bytes i32) (local $t i32) (local $n i32) (local $pa i32) (local $pb i32) (local $end i32) (local $po i32) (local $step i32)
    (local $b1 i32) (local $b2 i32) (local $b3 i32) (local $a1 i32)
    (local $s00 v128) (local $s01 v128) (local $s02 v128) (local $s03 v128) (local $s10 v128) (local $s11 v128) (local $s12 v128) (local $s13 v128)
    (local $x0 v128) (local $x1 v128) (local $y0 v128) (local $y1 v128) (local $y2 v128) (local $y3 v128)
    (local.set $bytes (i32.shl (local.get $depth) (i32.const 1)))
    (local.set $step (i32.shl (local.get $pitch) (i32.const 2)))
    (local.set $n (i32.const 0))
    (loop $columns_loop
      (local.set $t (i32.const 0))
      (loop $rows_loop
        (local.set $pa (i32.add (local.get $a) (i32.mul (local.get $t) (local.get $bytes))))
        (local.set $a1 (i32.add (local.get $pa) (local.get $bytes)))
        (local.set $end (local.get $a1))
        (local.set $pb (i32.add (local.get $b) (i32.mul (local.get $n) (local.get $bytes))))
        (local.set $b1 (i32.add (local.get $pb) (local.get $bytes)))
        (local.set $b2 (i32.add (local.get $b1) (local.get $bytes)))
        (local.set $b3 (i32.add (local.get $b2) (local.get $bytes)))
        (local.set $s00 (v128.const i32x4 0 0 0 0))
        (local.set $s01 (v128.const i32x4 0 0 0 0))
        (local.set $s02 (v128.const i32x4 0 0 0 0))
        (local.set $s03 (v128.const i32x4 0 0 0 0))
        (local.set $s10 (v128.const i32x4 0 0 0 0))
        (local.set $s11 (v128.const i32x4 0 0 0 0))
        (local.set $s12 (v128.const i32x4 0 0 0 0))
        (local.set $s13 (v128.const i32x4 0 0 0 0))
        (loop $depth_loop
          (local.set $x0 (v128.load (local.get $pa)))
          (local.set $x1 (v128.load (local.get $a1)))
          (local.set $y0 (v128.load (local.get $pb)))
          (local.set $y1 (v128.load (local.get $b1)))
          (local.set $y2 (v128.load (local.get $b2)))
          (local.set $y3 (v128.load (local.get $b3)))
          (local.set $s00 (i32x4.add (local.get $s00) (i32x4.dot_i16x8_s (local.get $x0) (local.get $y0))))
          (local.set $s01 (i32x4.add (local.get $s01) (i32x4.dot_i16x8_s (local.get $x0) (local.get $y1))))
          (local.set $s02 (i32x4.add (local.get $s02) (i32x4.dot_i16x8_s (local.get $x0) (local.get $y2))))
          (local.set $s03 (i32x4.add (local.get $s03) (i32x4.dot_i16x8_s (local.get $x0) (local.get $y3))))
          (local.set $s10 (i32x4.add (local.get $s10) (i32x4.dot_i16x8_s (local.get $x1) (local.get $y0))))
          (local.set $s11 (i32x4.add (local.get $s11) (i32x4.dot_i16x8_s (local.get $x1) (local.get $y1))))
          (local.set $s12 (i32x4.add (local.get $s12) (i32x4.dot_i16x8_s (local.get $x1) (local.get $y2))))
          (local.set $s13 (i32x4.add (local.get $s13) (i32x4.dot_i16x8_s (local.get $x1) (local.get $y3))))
          (local.set $a1 (i32.add (local.get $a1) (i32.const 16)))
          (local.set $pb (i32.add (local.get $pb) (i32.const 16)))
          (local.set $b1 (i32.add (local.get $b1) (i32.const 16)))
          (local.set $b2 (i32.add (local.get $b2) (i32.const 16)))
          (local.set $b3 (i32.add (local.get $b3) (i32.const 16)))
          (local.set $pa (i32.add (local.get $pa) (i32.const 16)))
          (br_if $depth_loop (i32.lt_u (local.get $pa) (local.get $end))))
        (local.set $po
          (i32.add (local.get $out)
            (i32.add (i32.mul (local.get $t) (local.get $step)) (i32.shl (local.get $n) (i32.const 2)))))
        (local.set $y0 (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $s00) (local.get $s01))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $s00) (local.get $s01))))
        (local.set $y1 (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $s02) (local.get $s03))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $s02) (local.get $s03))))
        (v128.store (local.get $po)
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $y0) (local.get $y1))
            (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $y0) (local.get $y1))))
        (local.set $y0 (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $s10) (local.get $s11))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $s10) (local.get $s11))))
        (local.set $y1 (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $s12) (local.get $s13))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $s12) (local.get $s13))))
        (v128.store (i32.add (local.get $po) (local.get $step))
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $y0) (local.get $y1))
            (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $y0) (local.get $y1))))
        (local.set $t (i32.add (local.get $t) (i32.const 2)))
        (br_if $rows_loop (i32.lt_u (local.get $t) (local.get $rows))))
      (local.set $n (i32.add (local.get $n) (i32.const 4)))
      (br_if $columns_loop (i32.lt_u (local.get $n) (local.get $columns)))))
  ;; The largest size of `count` f32 numbers; count is a multiple of 4.
  (func (export "largest") (param $from i32) (param $count i32) (result f32)
    (local $end i32) (local $most v128)
    (local.set $end (i32.add (local.get $from) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (local.set $most (f32x4.max (local.get $most) (f32x4.abs (v128.load (local.get $from)))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $from) (local.get $end))))
    (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $most)) (f32x4.extract_lane 1 (local.get $most)))
      (f32.max (f32x4.extract_lane 2 (local.get $most)) (f32x4.extract_lane 3 (local.get $most)))))

  ;; Rounds `rows` rows of `width` f32 numbers, `pitch` apart, times `factor`, to i16 without gaps; width is a multiple of 8.
  (func (export "round") (param $from i32) (param $to i32) (param $rows i32) (param $width i32) (param $pitch i32) (param $factor f32)
    (local $f v128) (local $at i32) (local $end i32)
    (local.set $f (f32x4.splat (local.get $factor)))
    (loop $rows_loop
      (local.set $at (local.get $from))
      (local.set $end (i32.add (local.get $from) (i32.shl (local.get $width) (i32.const 2))))
      (loop $next
        (v128.store (local.get $to)
          (i16x8.narrow_i32x4_s
            (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.mul (v128.load (local.get $at)) (local.get $f))))
            (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.mul (v128.load offset=16 (local.get $at)) (local.get $f))))))
        (local.set $to (i32.add (local.get $to) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
      (local.set $from (i32.add (local.get $from) (i32.shl (local.get $pitch) (i32.const 2))))
      (local.set $rows (i32.sub (local.get $rows) (i32.const 1)))
      (br_if $rows_loop (local.get $rows))))

  ;; to[row][n] = from[row][n] * factor + bias[n], whole numbers to f32, rows of `to` `pitch` apart; width is a multiple of 4.
  (func (export "finish") (param $from i32) (param $to i32) (param $bias i32) (param $rows i32) (param $width i32) (param $pitch i32) (param $factor f32)
    (local $f v128) (local $n i32) (local $bytes i32)
    (local.set $f (f32x4.splat (local.get $factor)))
    (local.set $bytes (i32.shl (local.get $width) (i32.const 2)))
    (loop $rows_loop
      (local.set $n (i32.const 0))
      (loop $next
        (v128.store (i32.add (local.get $to) (local.get $n))
          (f32x4.add
            (f32x4.mul (f32x4.convert_i32x4_s (v128.load (i32.add (local.get $from) (local.get $n)))) (local.get $f))
            (v128.load (i32.add (local.get $bias) (local.get $n)))))
        (local.set $n (i32.add (local.get $n) (i32.const 16)))
        (br_if $next (i32.lt_u (local.get $n) (local.get $bytes))))
      (local.set $from (i32.add (local.get $from) (local.get $bytes)))
      (local.set $to (i32.add (local.get $to) (i32.shl (local.get $pitch) (i32.const 2))))
      (local.set $rows (i32.sub (local.get $rows) (i32.const 1)))
      (br_if $rows_loop (local.get $rows))))

  ;; Looks `count` f32 numbers up in a table of f32 in place: index = x * steps + middle, kept within [0, last]. A number past
  ;; the table's upper end stays as it is.
  (func (export "lookup") (param $at i32) (param $count i32) (param $table i32) (param $steps f32) (param $middle f32) (param $last i32)
    (local $end i32) (local $index i32)
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (local.set $index
        (i32.trunc_sat_f32_s (f32.add (f32.mul (f32.load (local.get $at)) (local.get $steps)) (local.get $middle))))
      (if (i32.lt_s (local.get $index) (local.get $last))
        (then
          (f32.store (local.get $at)
            (f32.load
              (i32.add (local.get $table)
                (i32.shl (select (local.get $index) (i32.const 0) (i32.gt_s (local.get $index) (i32.const 0))) (i32.const 2)))))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))

  ;; Scores to shares, row by row: shares[row][n] = exp(step * (score - top)) scaled so that the row adds up to `whole`. Only the
  ;; first `count` of a row's `pitch` numbers count, the others become 0. The table holds exp(-n / steps).
  (func (export "softmax") (param $scores i32) (param $shares i32) (param $rows i32) (param $count i32) (param $pitch i32) (param $table i32) (param $step f32) (param $last i32) (param $whole f32)
    (local $n i32) (local $top i32) (local $sum f32) (local $index i32) (local $value i32)
    (loop $rows_loop
      (local.set $top (i32.const -2147483648))
      (local.set $n (i32.const 0))
      (loop $tops
        (local.set $value (i32.load (i32.add (local.get $scores) (i32.shl (local.get $n) (i32.const 2)))))
        (local.set $top (select (local.get $value) (local.get $top) (i32.gt_s (local.get $value) (local.get $top))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $tops (i32.lt_u (local.get $n) (local.get $count))))
      (local.set $sum (f32.const 0))
      (local.set $n (i32.const 0))
      (loop $sums
        (local.set $value (i32.add (local.get $scores) (i32.shl (local.get $n) (i32.const 2))))
        (local.set $index
          (i32.trunc_sat_f32_u
            (f32.mul (f32.convert_i32_s (i32.sub (local.get $top) (i32.load (local.get $value)))) (local.get $step))))
        (local.set $index (select (local.get $index) (local.get $last) (i32.lt_u (local.get $index) (local.get $last))))
        (i32.store (local.get $value) (local.get $index))
        (local.set $sum
          (f32.add (local.get $sum)
            (f32.load (i32.add (local.get $table) (i32.shl (local.get $index) (i32.const 2))))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $sums (i32.lt_u (local.get $n) (local.get $count))))
      (local.set $sum (f32.div (local.get $whole) (local.get $sum)))
      (local.set $n (i32.const 0))
      (loop $writes
        (i32.store16 (i32.add (local.get $shares) (i32.shl (local.get $n) (i32.const 1)))
          (if (result i32) (i32.lt_u (local.get $n) (local.get $count))
            (then
              (i32.trunc_sat_f32_s
                (f32.add (f32.const 0.5)
                  (f32.mul (local.get $sum)
                    (f32.load
                      (i32.add (local.get $table)
                        (i32.shl (i32.load (i32.add (local.get $scores) (i32.shl (local.get $n) (i32.const 2)))) (i32.const 2))))))))
            (else (i32.const 0))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $writes (i32.lt_u (local.get $n) (local.get $pitch))))
      (local.set $scores (i32.add (local.get $scores) (i32.shl (local.get $pitch) (i32.const 2))))
      (local.set $shares (i32.add (local.get $shares) (i32.shl (local.get $pitch) (i32.const 1))))
      (local.set $rows (i32.sub (local.get $rows) (i32.const 1)))
      (br_if $rows_loop (local.get $rows)))))
