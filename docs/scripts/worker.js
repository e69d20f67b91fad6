// Opened from a folder (file:), browsers start no workers, and search is one. A frame runs its script instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const start = () => {
        const frame = document.body.appendChild(document.createElement("iframe"));
        frame.hidden = true;
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = () => {
          this.postMessage = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
          this.waiting.forEach((data) => this.postMessage(data));
        };
        inside.document.head.append(script);
      };
      document.body ? start() : addEventListener("DOMContentLoaded", start);
    }
    postMessage(data) {
      this.waiting.push(data);
    }
  };
}
