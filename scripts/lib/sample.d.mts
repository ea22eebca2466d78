export function sampleOf<A, M extends { readonly area: A }>(
  mutants: readonly M[],
  areas: readonly A[],
  options: { readonly seed: number; readonly count: number; readonly refused?: ReadonlySet<M> },
): M[]
