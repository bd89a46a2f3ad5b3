// The search runs in a worker, which a browser refuses to a page that was opened as a file. This one
// runs the worker's script in a hidden frame instead. (The theme would load such a script from
// another host; its name tells it that there is one already.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.srcdoc = "<!doctype html>"
      this.frame = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          frame.contentWindow.postMessage = (data) => this.hand(this, data)
          const script = frame.contentDocument.createElement("script")
          script.src = url
          script.addEventListener("load", () => resolve(frame.contentWindow))
          frame.contentDocument.head.append(script)
        }, { once: true })
      })
      document.body.append(frame)
    }

    hand(target, data) {
      target.dispatchEvent(new MessageEvent("message", { data }))
    }

    postMessage(data) {
      this.frame.then((inner) => this.hand(inner, data))
    }
  }
}
