// error-boundary.tsx: a view that fails shows that, and the rest of the page goes on.
import { Component, type ReactNode } from 'react'
import { Button, Problem } from './basics.tsx'

interface Props {
  readonly children: ReactNode
}

export class ErrorBoundary extends Component<Props, { readonly failure: Error | undefined }> {
  override state: { readonly failure: Error | undefined } = { failure: undefined }

  static getDerivedStateFromError(failure: Error) {
    return { failure }
  }

  override render(): ReactNode {
    const { failure } = this.state
    if (!failure) return this.props.children
    return (
      <div className="pane">
        <Problem title="This view failed">{failure.message}</Problem>
        <div className="actions">
          <Button onClick={() => this.setState({ failure: undefined })}>Show it again</Button>
        </div>
      </div>
    )
  }
}
