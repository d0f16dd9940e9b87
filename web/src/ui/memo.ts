// preact/compat's memo without the rest of compat.
import { Component, h, type ComponentType, type VNode } from "preact";

/** Renders again only if a member of the properties is another object. */
export function memo<P extends object>(Shown: ComponentType<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]);
      return [...keys].some((key) => next[key as keyof P] !== (this.props as P)[key as keyof P]);
    }
    override render(): VNode {
      return h(Shown as ComponentType, this.props);
    }
  };
}
